import { expect } from '@jest/globals';
import { until } from '@kube-dns/testkit';
import { hashLabel } from './hash-label.js';
import { namespaceObject, serviceObject } from './objects.js';
import { replayIxfr } from './zone-replay.js';
import { type TransferTestbed, ZONE } from './transfer-testbed.js';

const NAMESPACES = 100;
const CHANGES_PER_STEP = 5;
const STEP_MS = 20;
const ROUNDS = 3;
/** The services of the cluster itself have other names. */
const OF_SERVICE = /^(?:\S+\.)?s(\d+)\.n\d+\.svc\.cluster\.local\. /;
const PORT = /^_http\._tcp\.s(\d+)\.n\d+\.\S+ 30 IN SRV 10 100 (\d+) /;
const SERIAL = / SOA \S+ \S+ (\d+) /;

const nameOf = (i: number) => `s${i}.n${i % NAMESPACES}.svc.${ZONE}`;
const addressOf = (i: number) => `10.96.${16 + (i >> 8)}.${i & 0xff}`;

/** The version of a service is its port: its address never changes. */
function serviceOf(i: number, version: number) {
  return serviceObject({
    namespace: `n${i % NAMESPACES}`,
    name: `s${i}`,
    clusterIPs: [addressOf(i)],
    ports: [{ name: 'http', port: version }],
  });
}

/** All records of a service, as dig prints them. */
function recordsOf(i: number, version: number): string[] {
  const name = `${nameOf(i)}.`;
  const address = addressOf(i);
  const host = `${hashLabel(address)}.${name}`;
  return [
    `${name} 30 IN A ${address}`,
    `${host} 30 IN A ${address}`,
    `${name} 30 IN SRV 10 100 ${version} ${name}`,
    `${host} 30 IN SRV 10 100 ${version} ${host}`,
    `_http._tcp.${name} 30 IN SRV 10 100 ${version} ${name}`,
    `${hashLabel(address)}._http._tcp.${name} 30 IN SRV 10 100 ${version} ${host}`,
  ];
}

/** States of the zone by their serial: the number of their last change. */
class ZoneStates {
  readonly #count: number;
  readonly #states = new Map<number, number>();

  constructor(count: number) {
    this.#count = count;
  }

  /**
   * Expects a zone to have every record of one state: all changes up to one, which are of one service after the other, and none after
   * it; with the serial that this state has everywhere. Returns the serial.
   */
  expectOne(records: readonly string[]): number {
    const count = this.#count;
    const versions = records.flatMap((record) => PORT.exec(record)?.[2] ?? []).map(Number);
    const last = Math.max(...versions);
    const versionOf = (i: number) => last - ((last - 1 - i + count) % count);
    const expected = Array.from({ length: count }, (_, i) => recordsOf(i, versionOf(i))).flat();
    const found = records.filter((record) => OF_SERVICE.test(record));
    expect([...new Set(found)].sort()).toEqual(expected.sort());
    const serial = Number(SERIAL.exec(records[0]!)?.[1]);
    const known = this.#states.get(serial) ?? last;
    expect({ serial, last }).toEqual({ serial, last: known });
    this.#states.set(serial, last);
    return serial;
  }
}

/**
 * Proves of so many services, of which some change all the time, that each transfer to BIND, NSD and Knot is one state of the
 * cluster with every record, and that each IXFR leads from an older state to a newer one.
 */
export async function proveTransfersUnderChurn(
  testbed: TransferTestbed,
  count: number,
): Promise<void> {
  const { api } = testbed;
  await api.apply(Array.from({ length: NAMESPACES }, (_, i) => namespaceObject(`n${i}`)));
  await api.apply(Array.from({ length: count }, (_, i) => serviceOf(i, i + 1)));
  const { kubedns, port } = await testbed.startSecondaries([ZONE]);
  const states = new ZoneStates(count);
  let version = count + 1;
  const churn = setInterval(() => {
    for (let i = 0; i < CHANGES_PER_STEP; i++, version++)
      void api.apply(serviceOf((version - 1) % count, version));
  }, STEP_MS);
  const older: { readonly serial: number; readonly content: readonly string[] }[] = [];
  const replay = async ({ serial, content }: (typeof older)[number]) => {
    const answer = await testbed.transfer(port, ZONE, `IXFR=${serial}`);
    return { soa: answer[0]!, content: replayIxfr(content, answer) };
  };
  for (let round = 0; round < ROUNDS; round++) {
    const records = await testbed.transfer(port, ZONE);
    older.push({ serial: states.expectOne(records), content: records.slice(1, -1) });
    for (const secondary of testbed.secondaries) {
      await until(`${secondary.name} with a zone`, async () => {
        return (await testbed.serialAt(secondary.port, ZONE)) !== undefined;
      });
      states.expectOne(await testbed.transfer(secondary.port, ZONE));
    }
    const { soa, content } = await replay(older[0]!);
    states.expectOne([soa, ...content]);
  }
  clearInterval(churn);
  const last = version - 1;
  await until('the last change', async () => {
    const { answers } = await kubedns.ask(`_http._tcp.${nameOf((last - 1) % count)}`, 'SRV');
    return answers.some((text) => text.includes(` ${last} `));
  });
  expect(await testbed.expectSame(port, ZONE)).toBeGreaterThan(6 * count);
  const records = await testbed.transfer(port, ZONE);
  states.expectOne(records);
  const content = [...new Set(records.slice(1, -1))].sort();
  for (const each of older) expect((await replay(each)).content).toEqual(content);
}
