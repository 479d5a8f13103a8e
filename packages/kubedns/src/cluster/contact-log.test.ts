import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RecordedLog, recordedLog } from '../../test/support/recorded-log.js';
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

let log: RecordedLog;
let services: Resource;
let slices: Resource;
let pending: string[];
let contact: ContactLog;
beforeEach(() => {
  log = recordedLog();
  services = new Resource('services');
  slices = new Resource('endpointslices');
  pending = [];
  contact = new ContactLog({ log, followed: [services, slices], pending: () => pending });
});
afterEach(() => contact.close());

/** What is said when the loss has lasted so long. */
function after(noContactMs: number): string[] {
  services.noContactMs = noContactMs;
  contact.report();
  return log.lines.splice(0);
}

const line = (seconds: number) =>
  `W services: no contact with the API server for ${seconds} s; serving the last known records`;

describe('ContactLog', () => {
  it('reports a loss after half a minute, then less and less often, and its end', () => {
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

  it('reports it once an hour in the end', () => {
    let said = 0;
    for (let minutes = 1; minutes <= 24 * 60; minutes++) said += after(minutes * 60_000).length;
    expect(said).toBeGreaterThan(20);
    expect(said).toBeLessThan(35);
  });

  it('does not report a short loss', () => {
    expect(after(20_000)).toEqual([]);
    expect(after(0)).toEqual([]);
  });

  it('names the pending resources with their objects so far', () => {
    pending = ['services', 'endpointslices'];
    services.objects = 1_200;
    expect(after(0)).toEqual(['I waiting for services (1200 so far), endpointslices']);
    expect(after(40_000)).toEqual([
      'I waiting for services (1200 so far), endpointslices',
      'W services: no contact with the API server for 40 s',
    ]);
  });
});
