import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { systemReason } from '@kube-dns/base';
import type { DnsConfig, Log } from '@kube-dns/daemon';
import { readPlainFile } from '../corefile/plain-file.js';
import type { RenderedCorefile } from '../template/render-template.js';

const MAX_LOGGED_LINES = 500;

/** The file that the Corefile is written to, for people; the log has it, too. */
export class CorefileFile {
  readonly #path: string;
  readonly #log: Log;
  #text: string | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** What is in it already: without a template that is the Corefile, as CoreDNS takes it. */
  read(): string | undefined {
    try {
      return readPlainFile(this.#path);
    } catch {
      return undefined; // nor is there one: the failure of the template is what to say
    }
  }

  /** Writes a new text and logs it, in the original's words. Returns why it could not be written, or nothing. */
  write({ text, upstreams, mayForceTcp }: RenderedCorefile, { stubDomains }: DnsConfig): string {
    if (text === this.#text) return '';
    try {
      writeAtomically(this.#path, text);
    } catch (error) {
      return `Failed to write config file ${this.#path} - err ${systemReason(error)}`;
    }
    this.#text = text;
    const log = this.#log;
    if (mayForceTcp) {
      log.warn('Did not find TCP upstream block to replace, assuming upstreams already use UDP.');
    }
    const count = `${stubDomains.size} custom stubdomains`;
    log.info(`Updated Corefile with ${count} and upstream servers ${upstreams}`);
    const lines = text.trimEnd().split('\n');
    log.info('Using config file:');
    for (const line of lines.slice(0, MAX_LOGGED_LINES)) log.info(line);
    const others = lines.length - MAX_LOGGED_LINES;
    if (others > 0) log.info(`${others} more lines are in ${this.#path}`);
    return '';
  }
}

/**
 * Writes a file so that a reader sees the old or the new text, never a part. One that cannot be replaced, because it
 * is mounted by itself or its folder is read-only, is written in place. Throws the error of the file system.
 */
function writeAtomically(path: string, text: string): void {
  const draft = `${path}.new`;
  try {
    writeFileSync(draft, text);
    renameSync(draft, path);
  } catch {
    rmSync(draft, { force: true });
    writeFileSync(path, text);
  }
}
