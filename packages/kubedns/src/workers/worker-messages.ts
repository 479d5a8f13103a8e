import type { EndpointSlice } from '../cluster/endpoint-slice.js';
import type { Service } from '../cluster/service.js';
import type { KubednsFlags } from '../config/flags.js';
import type { Servers } from '../config/upstreams.js';
import type { Locality } from '../federation/node-locality.js';

/** A slice and the number by which leader and workers mean the same one. */
export type NumberedSlice = readonly [number: number, slice: EndpointSlice];

/** What a worker has to know besides the objects of the cluster; always told whole. */
export interface Facts {
  readonly isSynced: boolean;
  readonly knowsNamespaces: boolean;
  readonly servers: Servers;
  readonly federations: ReadonlyMap<string, string>;
  readonly locality: Locality | undefined;
}

/**
 * One change of what is known. All but `whole` are what the leader's zone was told itself; `whole` is
 * the state of a service, its slices in order, for a worker that was not there when they came.
 */
export type Change =
  | readonly ['service', key: string, service: Service | undefined]
  | readonly ['slice', before: number | undefined, after: NumberedSlice | undefined]
  | readonly ['namespace', name: string, exists: boolean]
  | readonly ['whole', key: string, service: Service | undefined, slices: readonly NumberedSlice[]]
  | readonly ['facts', facts: Facts];

/** Changes in their order, and the serial of the zone after them. */
export interface Batch {
  readonly changes: readonly Change[];
  readonly serial: number;
}

/** What a worker starts with. */
export interface WorkerStart {
  readonly flags: KubednsFlags;
  readonly version: string;
  readonly engine: 'batch' | 'dgram';
  /** What all share: the address, and the port that the leader has. */
  readonly address: string;
  readonly port: number;
  /** Its part of the questions that may wait for an upstream. */
  readonly maxInFlight: number;
  /** Of the leader's zone before any change. */
  readonly serial: number;
}
