import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';

import { counter, gauge, type MetricFamily } from './metric-family.js';

/**
 * The `process_*` metrics with the names and texts of the Go client, which dashboards use, and the size
 * of the heap. The default metrics of prom-client include an event-loop sampler that wakes an idle
 * process a hundred times a second and cannot be switched off.
 */
export function processFamilies(): MetricFamily[] {
  const maxFiles = readLimit('Max open files');
  const maxMemory = readLimit('Max address space');
  const startTimeSeconds = Math.round(Date.now() - process.uptime() * 1_000) / 1_000;
  return [
    gauge(
      {
        name: 'process_start_time_seconds',
        help: 'Start time of the process since unix epoch in seconds.',
      },
      () => startTimeSeconds,
    ),
    counter(
      {
        name: 'process_cpu_seconds_total',
        help: 'Total user and system CPU time spent in seconds.',
      },
      cpuSeconds,
    ),
    gauge({ name: 'process_resident_memory_bytes', help: 'Resident memory size in bytes.' }, () =>
      process.memoryUsage.rss(),
    ),
    gauge(
      { name: 'process_virtual_memory_bytes', help: 'Virtual memory size in bytes.' },
      virtualMemoryBytes,
    ),
    gauge(
      {
        name: 'process_virtual_memory_max_bytes',
        help: 'Maximum amount of virtual memory available in bytes.',
      },
      () => maxMemory,
    ),
    counter(
      {
        name: 'process_network_receive_bytes_total',
        help: 'Number of bytes received by the process over the network.',
      },
      () => networkBytes('InOctets'),
    ),
    counter(
      {
        name: 'process_network_transmit_bytes_total',
        help: 'Number of bytes sent by the process over the network.',
      },
      () => networkBytes('OutOctets'),
    ),
    gauge(
      { name: 'process_heap_bytes', help: 'Size of the JavaScript heap, in bytes.' },
      () => process.memoryUsage().heapTotal,
    ),
    gauge({ name: 'process_open_fds', help: 'Number of open file descriptors.' }, openFiles),
    gauge(
      { name: 'process_max_fds', help: 'Maximum number of open file descriptors.' },
      () => maxFiles,
    ),
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
