import type { EndpointNames } from '../config/naming.js';

/** Options of reading an object; `onRejected` is called for each part that is left out. */
export interface ObjectReading {
  readonly names: EndpointNames;
  readonly onRejected: (reason: string) => void;
}
