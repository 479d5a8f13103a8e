// Writes one snapshot after the other, for ever: `FILE FIRST LINES`. It prints when it begins one and when that is written, so
// that the program that kills it knows which two the file may be.
import { writeSync } from 'node:fs';
import { SnapshotFile } from '@kube-dns/daemon';

const [path = '', first = '0', lines = '0'] = process.argv.slice(2);
const log = { info: () => undefined, warn: (text: string) => void writeSync(2, `${text}\n`) };
const file = new SnapshotFile({ path, kind: 'kill', maxAgeMs: Number.MAX_SAFE_INTEGER, log });

/** As long and as different as those of a service. */
function* content(number: number): Generator<string> {
  for (let i = 0; i < Number(lines); i++) yield `${number} ${i} ${Math.random().toString(36)}`;
}

for (let number = Number(first); ; number++) {
  writeSync(1, `begin ${number}\n`);
  const isWritten = await file.write(
    Object.assign({ kind: 'kill', writtenMs: Date.now() }, { number }),
    content(number),
  );
  if (isWritten) writeSync(1, `end ${number}\n`);
}
