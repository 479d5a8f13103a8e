import { spawnSync } from 'node:child_process';

/** Ends with 13 where it may not have the port. */
const TRY = `require('dgram').createSocket('udp4')
  .on('error', ({ code }) => process.exit(code === 'EACCES' ? 13 : 1))
  .bind(53, '127.0.0.1', () => process.exit(0))`;
/** A command that takes the right away from what it runs, which must have it for that. */
const SETPRIV = ['setpriv', '--bounding-set=-net_bind_service', '--inh-caps=-all', '--'];

/** The words in front of a program that may then not have port 53; undefined where each program may have it. */
export const WITHOUT_PORT_53 = [[], SETPRIV].find((words) => {
  const tried = spawnSync('env', [...words, process.execPath, '-e', TRY], { stdio: 'ignore' });
  return tried.status === 13;
});
