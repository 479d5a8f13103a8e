import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type KeptLog, keptLog } from '../../test/support/kept-log.js';
import { ContactLog } from './contact-log.js';

/** A resource whose time without contact a test sets. */
class Resource {
  noContactMs = 0;
  objects = 0;
  readonly resource: string;

  constructor(resource: string) {
    this.resource = resource;
  }
}

let log: KeptLog;
let services: Resource;
let slices: Resource;
let pending: string[];
let contact: ContactLog;
beforeEach(() => {
  log = keptLog();
  services = new Resource('services');
  slices = new Resource('endpointslices');
  pending = [];
  contact = new ContactLog({ log, followed: [services, slices], pending: () => pending });
});
afterEach(() => contact.close());

/** What is said when the loss has lasted so long. */
function after(noContactMs: number): string[] {
  services.noContactMs = noContactMs;
  contact.look();
  return log.lines.splice(0);
}

const line = (seconds: number) =>
  `W services: no contact with the API server for ${seconds} s; serving what was known then`;

describe('ContactLog', () => {
  it('tells of a loss after half a minute, then less and less often, and of its end', () => {
    expect(after(29_000)).toEqual([]);
    expect(after(31_000)).toEqual([line(31)]);
    for (let seconds = 36; seconds < 62; seconds += 5) expect(after(seconds * 1_000)).toEqual([]);
    expect(after(66_000)).toEqual([line(66)]);
    expect(after(130_000)).toEqual([]);
    expect(after(135_000)).toEqual([line(135)]);
    expect(after(0)).toEqual(['I services: the API server is back after 135 s']);
    expect(after(0)).toEqual([]);
    expect(after(30_000)).toEqual([line(30)]);
  });

  it('tells of it once an hour in the end', () => {
    let said = 0;
    for (let minutes = 1; minutes <= 24 * 60; minutes++) said += after(minutes * 60_000).length;
    expect(said).toBeGreaterThan(20);
    expect(said).toBeLessThan(35);
  });

  it('says nothing of a short loss', () => {
    expect(after(20_000)).toEqual([]);
    expect(after(0)).toEqual([]);
  });

  it('names what is waited for, with what has come so far', () => {
    pending = ['services', 'endpointslices'];
    services.objects = 1_200;
    expect(after(0)).toEqual(['I waiting for services (1200 so far), endpointslices']);
    expect(after(40_000)).toEqual([
      'I waiting for services (1200 so far), endpointslices',
      'W services: no contact with the API server for 40 s',
    ]);
  });
});
