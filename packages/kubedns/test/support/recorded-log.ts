import { createLog, type Log } from '@kube-dns/daemon';

/** A log that records its lines: `E message`. */
export interface RecordedLog extends Log {
  readonly lines: string[];
}

export function recordedLog(verbosity = 0): RecordedLog {
  const lines: string[] = [];
  const write = (line: string) => {
    lines.push(line.replace(/^(.).*?\] (.*)\n$/s, '$1 $2'));
  };
  return { ...createLog({ name: 'test', verbosity, write }), lines };
}
