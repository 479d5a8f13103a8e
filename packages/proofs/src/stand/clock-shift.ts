// Loaded into a container (`node --import`) by the proofs: its time of day is wrong by as many ms as the
// file says that CLOCK_FILE names. It writes that number to the same name with its pid behind it.
import { readFileSync, writeFileSync } from 'node:fs';

const LOOK_MS = 50;

const file = process.env.CLOCK_FILE;
if (file !== undefined) {
  const SystemDate = Date;
  let shiftMs = 0;
  globalThis.Date = class extends SystemDate {
    constructor(...given: readonly unknown[]) {
      if (given.length === 0) super(SystemDate.now() + shiftMs);
      else super(...(given as ConstructorParameters<typeof SystemDate>));
    }

    static override now(): number {
      return SystemDate.now() + shiftMs;
    }
  } as DateConstructor;
  setInterval(() => {
    const readMs = Number(readFileSync(file, 'utf8'));
    if (readMs === shiftMs) return;
    shiftMs = readMs;
    writeFileSync(`${file}.${process.pid}`, String(shiftMs));
  }, LOOK_MS).unref();
}
