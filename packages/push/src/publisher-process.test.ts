import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { appendZoneVersion, encodeKey, zoneVersionAt } from '@kube-dns/wire';
import { clusterVersion } from './testing/index.js';
import { PublisherProcess } from './publisher-process.js';
import { NOT_KNOWN } from './version-log.js';

const APEX = encodeKey('z');
const ID = new Uint8Array(8).fill(1);
const OTHER_ID = new Uint8Array(8).fill(2);
/** An OPT record without options. */
const OPT = [0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0];
const NOTE = { isPart: false, isResumed: false };
/** Within this time a publisher is to know what another replica knows. */
const LAG_MS = 2_000;

let lags: number;
let publisher: PublisherProcess;
beforeEach(() => {
  jest.useFakeTimers();
  lags = 0;
  publisher = new PublisherProcess(1, [APEX], () => lags++);
  publisher.become(ID, APEX, 40, clusterVersion(100));
  publisher.isLive = true;
});
afterEach(() => {
  publisher.end();
  jest.useRealTimers();
});

/** What a reply with this version knows. */
function knows(instance: Uint8Array, serial: number, cluster?: Uint8Array): number {
  const out = new Uint8Array(200);
  out.set(OPT, 12);
  const version = { labelCount: 1, instance, serial, cluster };
  const end = appendZoneVersion(out, 12 + OPT.length, out.length, version);
  const reply = out.subarray(0, end);
  return publisher.serialOf(reply, zoneVersionAt(reply));
}
const ofReplica = (...version: Parameters<typeof clusterVersion>) =>
  knows(OTHER_ID, 7, clusterVersion(...version));
const announce = (serial: number, version: number, isPart = false) =>
  publisher.noteVersion({ ...NOTE, isPart, version: clusterVersion(version) }, serial);

describe('a process that announces changes', () => {
  it('counts its own answers by its serials', () => {
    expect([knows(ID, 40), knows(ID, 43), knows(ID, 39)]).toEqual([40, 43, NOT_KNOWN]);
  });

  it('counts answers of replicas by the version of the cluster', () => {
    announce(41, 110);
    announce(42, 120);
    expect([99, 100, 115, 120, 130].map((known) => ofReplica(known))).toEqual([
      NOT_KNOWN,
      40,
      41,
      42,
      42,
    ]);
    expect(ofReplica(120, { identity: 9 })).toBe(NOT_KNOWN);
    expect(knows(OTHER_ID, 41)).toBe(NOT_KNOWN);
  });

  it('counts an answer of its own that it took for old by its version, too', () => {
    expect(knows(ID, 0, clusterVersion(100))).toBe(40);
  });

  it('goes on with another process: serials continue those of the first', () => {
    announce(43, 130);
    publisher.end();
    publisher.resume(OTHER_ID, APEX, 7, clusterVersion(140));
    expect(knows(OTHER_ID, 7)).toBe(44);
    expect(publisher.serialHere(8)).toBe(45);
    expect(knows(OTHER_ID, 8)).toBe(45);
    expect([knows(ID, 43), knows(ID, 43, clusterVersion(130))]).toEqual([NOT_KNOWN, 43]);
    // An answer of it from before knows less than what it repeats now.
    expect(knows(OTHER_ID, 6, clusterVersion(130))).toBe(43);
  });

  it('is at a version once all its parts were announced: from there it goes on', () => {
    announce(41, 110, true);
    expect(publisher.version).toEqual(clusterVersion(100));
    announce(42, 110);
    expect(publisher.version).toEqual(clusterVersion(110));
    expect(ofReplica(105)).toBe(40);
  });

  it('says when it is of another history: what was announced before is of no use', () => {
    expect(announce(41, 110)).toBe(false);
    const other = { ...NOTE, version: clusterVersion(5, { identity: 2 }) };
    expect(publisher.noteVersion(other)).toBe(true);
    expect([ofReplica(110), ofReplica(5, { identity: 2 })]).toEqual([NOT_KNOWN, 41]);
    expect(publisher.changes.isKnown(1, 40)).toBe(false);
    expect(publisher.noteVersion({ ...NOTE, version: undefined })).toBe(true);
    expect(publisher.isComparable).toBe(false);
    expect(publisher.noteVersion({ ...NOTE, version: undefined })).toBe(false);
  });

  it.each([
    ['another replica has seen what it does not know in time', { seen: 105 }, 1],
    ['another replica has seen nothing more, and knows that', { seen: 100 }, 0],
    ['the answer is of another history', { seen: 105, identity: 2 }, 0],
  ])('is behind when %s', (_, of, count) => {
    ofReplica(110, of);
    jest.advanceTimersByTime(LAG_MS - 1);
    expect(lags).toBe(0);
    jest.advanceTimersByTime(1);
    expect(lags).toBe(count);
  });

  it('is not behind when it knows that in time', () => {
    ofReplica(110);
    jest.advanceTimersByTime(LAG_MS - 1);
    publisher.noteVersion({ ...NOTE, version: clusterVersion(110) });
    jest.advanceTimersByTime(LAG_MS);
    expect(lags).toBe(0);
  });

  it('is behind when it goes on for one that knew more, and does not know that in time', () => {
    announce(41, 110);
    publisher.end();
    publisher.resume(OTHER_ID, APEX, 7, clusterVersion(105));
    publisher.isLive = true;
    jest.advanceTimersByTime(LAG_MS);
    expect(lags).toBe(1);
  });

  it('has another history when it goes on for one that knew more, and says 15 s later that it knows all', () => {
    publisher.end();
    publisher.resume(OTHER_ID, APEX, 7, clusterVersion(95));
    jest.advanceTimersByTime(15_000);
    // While the API server hangs it may be behind for as long, but sends no heartbeats.
    expect(publisher.hasOtherHistory).toBe(false);
    jest.advanceTimersByTime(1);
    expect(publisher.hasOtherHistory).toBe(true);
    announce(8, 100);
    expect(publisher.hasOtherHistory).toBe(false);
  });

  it('may have answers that are older than the subscription: they are taken after 5 s', () => {
    const known = ofReplica(99);
    expect([publisher.changes.covers(known), publisher.takesOlder]).toEqual([false, false]);
    jest.advanceTimersByTime(5_001);
    expect(publisher.takesOlder).toBe(true);
    expect(publisher.changes.covers(ofReplica(100))).toBe(true);
  });

  it('has answers without a version for a second where others have one, and for less at first', () => {
    expect([publisher.maxSeconds, publisher.unversioned.maxSeconds]).toEqual([Infinity, 0.1]);
    jest.advanceTimersByTime(5_001);
    expect(publisher.unversioned.maxSeconds).toBe(1);
    publisher.become(ID, APEX, 1);
    expect(publisher.unversioned.maxSeconds).toBe(Infinity);
  });
});
