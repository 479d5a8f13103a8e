import { CodedError } from '@kube-dns/base';
import { type CommandResult, NOT_INSTALLED } from './command.js';

const NOT_PERMITTED = /not permitted|permission denied|must be root/i;
const LOCKED = 'holding the xtables lock';

/** What cannot be set up; `rules-locked` is another program with the lock of iptables. */
export type NetworkErrorCode = 'interface' | 'rules' | 'rules-locked';

/** Interface or rules that cannot be read, added or removed. */
export class NetworkError extends CodedError<NetworkErrorCode> {}

/** The error of a command that failed, with its first line and what is missing. */
export function commandError(
  code: NetworkErrorCode,
  program: string,
  result: CommandResult,
): NetworkError {
  if (result.status === NOT_INSTALLED) return new NetworkError(code, `${program} is not installed`);
  const isLocked = code === 'rules' && result.stderr.includes(LOCKED);
  const lines = result.stderr.split('\n').filter((line) => line.trim() !== '');
  const reason = lines[0]?.trim() ?? `exit code ${result.status}`;
  const advice = NOT_PERMITTED.test(result.stderr) ? '; it needs the capability NET_ADMIN' : '';
  return new NetworkError(isLocked ? 'rules-locked' : code, `${program}: ${reason}${advice}`);
}
