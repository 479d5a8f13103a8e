import type { FaultKind, Finding, FindingFiles } from './finding.js';

/** The same fault has many inputs; one is enough. */
const MAX_FINDINGS = 20;

/** The faults of one run, each once. */
export class FaultList {
  readonly #files: FindingFiles;
  readonly #findings = new Map<string, Finding>();

  constructor(files: FindingFiles) {
    this.#files = files;
  }

  get findings(): readonly Finding[] {
    return [...this.#findings.values()];
  }

  /** Something was thrown; what comes from the same place with the same words is the same fault. */
  addThrown(error: unknown, input: Buffer): void {
    const { message, stack } = describe(error);
    const line = /at .*packages\/(?!proofs)\S+|at .*\.js:\d+:\d+/.exec(stack)?.[0] ?? '';
    // Without the path of the checkout: files are named after this.
    const place = line.replace(/\S*(?=packages\/)/, '');
    const words = message.replace(/"(?:[^"\\]|\\.)*"|\d+/g, '…').slice(0, 80);
    this.#store('throws', `${words} ${place}`, () => `${message} ${place}`, input);
  }

  /** Of the kinds that are amounts, the largest counts, which comes first. */
  add(kind: FaultKind, detail: string, input?: Buffer): void {
    this.#store(kind, kind, () => detail, input);
  }

  #store(kind: FaultKind, key: string, detail: () => string, input: Buffer | undefined): void {
    if (this.#findings.has(key) || this.#findings.size >= MAX_FINDINGS) return;
    const text = detail();
    const file = input === undefined ? '' : this.#files.write(kind, text, input);
    this.#findings.set(key, { kind, detail: text, file });
  }
}

function describe(error: unknown): { message: string; stack: string } {
  if (typeof error !== 'object' || error === null || !('message' in error)) {
    return { message: String(error), stack: '' };
  }
  const stack = 'stack' in error ? String(error.stack) : '';
  const name = 'name' in error ? `${String(error.name)}: ` : '';
  return { message: `${name}${String(error.message)}`, stack };
}
