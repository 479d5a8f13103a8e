import { createLog, type Log } from '@kube-dns/daemon';

/** A log that keeps what it is told: `E message`. */
export interface KeptLog extends Log {
  readonly lines: string[];
}

export function keptLog(verbosity = 0): KeptLog {
  const lines: string[] = [];
  const write = (line: string) => {
    lines.push(line.replace(/^(.).*?\] (.*)\n$/s, '$1 $2'));
  };
  return { ...createLog({ name: 'test', verbosity, write }), lines };
}
