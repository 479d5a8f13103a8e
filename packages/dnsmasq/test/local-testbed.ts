import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readQuery } from '@kube-dns/wire';
import { decodeMessage, encodeQuery, type Question } from '@kube-dns/testkit';
import type { Query } from '@kube-dns/wire';
import { LocalData } from '../src/local/local-data.js';
import { parseOptions } from '../src/options/parse-options.js';
import { recordedLog } from './recorded-log.js';

const out = Buffer.alloc(4_096);

/** A folder with hosts files, and the local data read from it. */
export class LocalTestbed {
  readonly folder = mkdtempSync(join(tmpdir(), 'dnsmasq-local-'));
  readonly log = recordedLog();
  readonly #opened: LocalData[] = [];

  /** Writes a file of the folder and returns its path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Local data of a command line, read once; /etc/hosts is `hosts` in the folder. */
  async load(...argv: string[]): Promise<LocalData> {
    const local = new LocalData({
      options: parseOptions(argv),
      log: this.log,
      etcHosts: join(this.folder, 'hosts'),
    });
    this.#opened.push(local);
    await local.reload();
    return local;
  }

  close(): void {
    for (const local of this.#opened.splice(0)) {
      local.close();
      local.close();
    }
    rmSync(this.folder, { recursive: true });
  }
}

/** The answer of hosts and static records; undefined when there is none. */
export function replyOf(local: LocalData, question: Question | string) {
  return read((query) => local.answer(query, out), question);
}

/** The answer by rule; undefined when there is none. */
export function replyByRule(local: LocalData, question: Question | string) {
  return read((query) => local.answerByRule(query, out), question);
}

/** The records of `replyOf` as texts. */
export function answerOf(
  local: LocalData,
  question: Question | string,
): readonly string[] | undefined {
  return replyOf(local, question)?.texts;
}

/** The records of `replyByRule`, or its rcode where there are none. */
export function ruleOf(local: LocalData, name: string, type = 'A'): string | undefined {
  const answer = replyByRule(local, { name, type });
  return answer === undefined ? undefined : answer.texts.join() || answer.rcode;
}

function read(write: (query: Query) => number, question: Question | string) {
  const length = write(
    readQuery(encodeQuery(typeof question === 'string' ? { name: question } : question)),
  );
  return length === 0 ? undefined : decodeMessage(Buffer.from(out.subarray(0, length)));
}
