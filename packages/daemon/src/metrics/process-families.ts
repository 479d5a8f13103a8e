import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';

import type { ProgramFacts } from '../program.js';
import { type MetricFamily, type MetricPrefix, metricPrefix } from './metric-family.js';

/**
 * The `process_*` metrics with the names and texts of the Go client, which dashboards use, and the size
 * of the heap. The default metrics of prom-client include an event-loop sampler that wakes an idle
 * process a hundred times a second and cannot be switched off.
 */
export function processFamilies(): MetricFamily[] {
  const maxFiles = readLimit('Max open files');
  const maxMemory = readLimit('Max address space');
  const startTimeSeconds = Math.round(Date.now() - process.uptime() * 1_000) / 1_000;
  const { counter, gauge } = metricPrefix('process');
  return [
    gauge(
      'start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      () => startTimeSeconds,
    ),
    counter('cpu_seconds_total', 'Total user and system CPU time spent in seconds.', cpuSeconds),
    gauge('resident_memory_bytes', 'Resident memory size in bytes.', () =>
      process.memoryUsage.rss(),
    ),
    gauge('virtual_memory_bytes', 'Virtual memory size in bytes.', virtualMemoryBytes),
    gauge(
      'virtual_memory_max_bytes',
      'Maximum amount of virtual memory available in bytes.',
      () => maxMemory,
    ),
    counter(
      'network_receive_bytes_total',
      'Number of bytes received by the process over the network.',
      () => networkBytes('InOctets'),
    ),
    counter(
      'network_transmit_bytes_total',
      'Number of bytes sent by the process over the network.',
      () => networkBytes('OutOctets'),
    ),
    gauge(
      'heap_bytes',
      'Size of the JavaScript heap, in bytes.',
      () => process.memoryUsage().heapTotal,
    ),
    gauge('open_fds', 'Number of open file descriptors.', openFiles),
    gauge('max_fds', 'Maximum number of open file descriptors.', () => maxFiles),
  ];
}

function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

// Only Linux has /proc; elsewhere no source is cheap, and no value is better than a wrong one.
function openFiles() {
  try {
    return readdirSync('/proc/self/fd').length - 1; // without the descriptor of this listing
  } catch {
    return [];
  }
}

function virtualMemoryBytes() {
  try {
    const match = /^VmSize:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return match === null ? [] : Number(match[1]) * 1_024;
  } catch {
    return [];
  }
}

/** As the Go client counts them: the IP traffic of the network namespace, which is that of the pod. */
function networkBytes(column: string) {
  try {
    const text = readFileSync('/proc/self/net/netstat', 'utf8');
    const [names = [], values = []] = [...text.matchAll(/^IpExt: (.*)$/gm)].map((match) =>
      match[1]!.split(' '),
    );
    const value = values[names.indexOf(column)];
    return value === undefined ? [] : Number(value);
  } catch {
    return [];
  }
}

/** Where the system has `unlimited`, the Go client shows 2^64. */
function readLimit(name: string) {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const text = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1];
    if (text === undefined) return [];
    return text === 'unlimited' ? 2 ** 64 : Number(text);
  } catch {
    return [];
  }
}

/** The metrics of a program itself. */
export function programFamilies(
  { counter, info }: MetricPrefix,
  { version, unexpectedErrors }: ProgramFacts,
): MetricFamily[] {
  return [
    info('build_info', 'The version that runs; always 1.', ['version'], () => ({ version })),
    counter('unexpected_errors_total', 'Uncaught errors; the program continued.', unexpectedErrors),
  ];
}

/** What is active of a configuration that may change. */
export interface ActiveConfig {
  /** The labels of `config_info`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly generation: number;
  /** In ms since the epoch; 0 before the first. */
  readonly appliedMs: number;
  readonly rejected: number;
  readonly unknownKeys: number;
}

/** The metrics of a configuration; `labelNames` are those of `config_info`. */
export function configFamilies(
  { counter, gauge, info }: MetricPrefix,
  labelNames: readonly string[],
  active: () => ActiveConfig,
): MetricFamily[] {
  return [
    info(
      'config_info',
      'Source and version of the active configuration; always 1.',
      labelNames,
      () => active().labels,
    ),
    gauge(
      'config_generation',
      'Configurations applied since the start, including the first.',
      () => active().generation,
    ),
    gauge(
      'config_applied_timestamp_seconds',
      'When the active configuration was applied, in seconds since the epoch.',
      () => active().appliedMs / 1_000,
    ),
    counter(
      'config_rejected_total',
      'Configurations that could not be read or were refused.',
      () => active().rejected,
    ),
    gauge(
      'config_unknown_keys',
      'Keys of the active configuration that are not known and have no effect.',
      () => active().unknownKeys,
    ),
  ];
}
