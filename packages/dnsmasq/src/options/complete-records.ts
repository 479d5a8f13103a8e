import { hostname } from 'node:os';
import { decodeName, TYPE } from '@kube-dns/wire';
import type { OptionsDraft } from './option-values.js';
import { type LocalRecord, mxRecord, nameOf, targetName } from './record-values.js';

/**
 * Completes records from the options of other lines: `--mx-target`, or this machine, for `--mx-host` with a name
 * only and for `--localmx`, and the domain for an SRV record of two labels, `_service._proto`.
 */
export function completeRecords(draft: OptionsDraft): void {
  const { records, mxNames, mxTarget, domain, sendsHostMxToTarget } = draft;
  const target = mxTarget || hostname();
  for (const name of mxNames) records.push(mxRecord([name, target]));
  if (mxTarget !== '' || sendsHostMxToTarget) addMxOfThisMachine(records, target);
  if (sendsHostMxToTarget && draft.hostMx === undefined) draft.hostMx = targetName(target);
  if (domain === '') return;
  records.forEach((one, i) => {
    const name = decodeName(one.owner);
    if (one.type !== TYPE.SRV || name.split('.').length !== 2) return;
    records[i] = { ...one, owner: nameOf(`${name}.${domain}`).key };
  });
}

function addMxOfThisMachine(records: LocalRecord[], target: string): void {
  const own = mxRecord([hostname(), target, '0']);
  const isOwn = ({ type, owner }: LocalRecord) =>
    type === TYPE.MX && Buffer.compare(owner, own.owner) === 0;
  if (!records.some(isOwn)) records.push(own);
}
