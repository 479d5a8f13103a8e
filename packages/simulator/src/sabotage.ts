import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bundles, ProgramName } from './cluster/cluster.js';

/** A fault of one line that is planted in a bundle, to see that the simulation finds it. */
export interface Sabotage {
  readonly name: string;
  readonly programs: readonly ProgramName[];
  /** What is in the bundle exactly once, and what stands there instead. Names may have a digit more in a bundle. */
  readonly text: RegExp;
  readonly by: string;
}

const CACHES: readonly ProgramName[] = ['dnsmasq', 'node-cache'];

/**
 * Among those places where a wrong line is easily written. Not among them is what a second line makes good: a reply
 * that is older than a change is not cached by its serial, and neither because its question was in flight then.
 */
export const SABOTAGES: readonly Sabotage[] = [
  {
    name: 'a change does not drop the aliases that lead to its name',
    programs: CACHES,
    text: /let count=this\.#removePinned\(number\d?,ANY_KEY\);/u,
    by: 'let count=0;',
  },
  {
    name: 'an announced change drops nothing',
    programs: CACHES,
    text: /this\.#dropped\+=this\.#options\.cache\.dropChanged\(\w+,instance,serial,zone\);/u,
    by: '',
  },
  {
    name: 'a new subscription drops nothing',
    programs: CACHES,
    text: /this\.#drop\(instance,"new-subscription"\)/u,
    by: '',
  },
  {
    name: 'a publisher that is silent is not noticed',
    programs: CACHES,
    text: /this\.#target\.silenceMs-performance\.now\(\)/u,
    by: 'this.#target.silenceMs*1e5-performance.now()',
  },
  {
    name: 'an answer stays pinned after its subscription has ended',
    programs: CACHES,
    text: /if\(isLive\)(this\.#options\.lastSeen\[\w+\]=performance\.now\(\)\/1e3)\}/u,
    by: 'if(isLive)$1+3600}',
  },
  {
    name: 'a subscription that has ended is not made again',
    programs: CACHES,
    text: /this\.#retry=setTimeout\(\(\)=>this\.start\(\),pauseMs\);/u,
    by: '',
  },
  {
    name: 'dnsmasq does not pass a change on',
    programs: ['dnsmasq'],
    text: /if\(this\.#sources\.has\(instance\)\)this\.publisher\.feed\.add\(\w+\)/u,
    by: '',
  },
  {
    name: 'dnsmasq does not pass on that all may have changed',
    programs: ['dnsmasq'],
    text: /onFlushed\(\)\{this\.publisher\.feed\.flush\("by-server"\)\}/u,
    by: 'onFlushed(){}',
  },
  {
    name: 'an expired answer is fresh',
    programs: CACHES,
    text: /#isExpired\(slot,now\)\{return now>=this\.#store\.columns\.expiresAt\[slot\]&&/u,
    by: '#isExpired(slot,now){return now>=this.#store.columns.expiresAt[slot]+600&&',
  },
  {
    name: 'a server that was down stays down',
    programs: CACHES,
    text: /(noteReply\(nowMs2?,query,sentAtMs\)\{)if\(sentAtMs!==void 0\)/u,
    by: '$1if(this.isDown)return;if(sentAtMs!==void 0)',
  },
  {
    name: 'a joined question gets the ID of the first',
    programs: CACHES,
    text: /isAskingAgain\(query2?,client2?\)\{/u,
    by: '$&return true;',
  },
  {
    name: 'a cached TTL does not fall',
    programs: CACHES,
    text: /(const age=)this\.#keepsTtls\?0:Math\.max\(0,Math\.floor\(nowSeconds-sinceSeconds\)\);/u,
    by: '$10;',
  },
  {
    name: 'kubedns answers before it has seen the cluster',
    programs: ['kubedns'],
    text: /isSynced:\(\)=>\w+\.isSynced,localNames:/u,
    by: 'isSynced:()=>true,localNames:',
  },
  {
    name: 'a list does not remove what is gone',
    programs: ['kubedns'],
    text: /if\(stored\.listNumber!==number\)this\.#remove\(key,stored\);/u,
    by: '',
  },
  {
    name: 'a slice that is replaced stays',
    programs: ['kubedns'],
    text: /last\.dropSlice\(before\);/u,
    by: '',
  },
  {
    name: 'changes of endpoints are not announced',
    programs: ['kubedns'],
    text: /if\(this\.#changes\.isObserved\)this\.#announceSlice\(before,after\);/u,
    by: '',
  },
  {
    name: 'versions are not forgotten when the history is lost',
    programs: ['kubedns'],
    text: /for\(const stored of this\.#stored\.values\(\)\)stored\.version=""(?=\})/u,
    by: '',
  },
  {
    name: 'endpoints that are not ready are answered',
    programs: ['kubedns'],
    text: /(const ready=\w+)\.filter\(\(\{conditions\}\)=>conditions\?\.ready!==false\);/u,
    by: '$1;',
  },
  {
    name: 'a watch that has ended is not opened again',
    programs: ['kubedns'],
    text: /this\.version===""\?this\.#list\((\w+)\):this\.#watch\(\w+\)/u,
    by: 'this.version===""?this.#list($1):(this.watches=(this.watches??0)+1)>1?new Promise(()=>{}):this.#watch($1)',
  },
  {
    name: 'dnsmasq goes on as a publisher when kubedns announces nothing',
    programs: ['dnsmasq'],
    text: /else this\.publisher\.dismiss\(\)/u,
    by: '',
  },
  {
    name: 'a subscription that has ended drops what is cached',
    programs: CACHES,
    text: /this\.#events\.lost\+\+;/u,
    by: '$&this.#drop(connected.instance,"by-server");',
  },
  {
    name: 'a snapshot is written once a minute',
    programs: ['kubedns'],
    text: /\bwriteMs:3e4\b/u,
    by: 'writeMs:6e4',
  },
];

const plantedBundles = new Map<string, Bundles>();
let allPlanted: string | undefined;

/** The folder of all of them, until the process ends. */
function plantedFolder(): string {
  if (allPlanted === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'kube-dns-sabotage-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    allPlanted = folder;
  }
  return allPlanted;
}

/** The bundles with a sabotage; throws when its text is not there once. */
export function sabotaged(bundles: Bundles, { name, programs, text, by }: Sabotage): Bundles {
  const known = plantedBundles.get(name);
  if (known !== undefined) return known;
  const changed: Record<ProgramName, string> = { ...bundles };
  const folder = mkdtempSync(join(plantedFolder(), 'bundles-'));
  for (const program of programs) {
    const source = readFileSync(bundles[program], 'utf8');
    const count = [...source.matchAll(new RegExp(text, 'gu'))].length;
    if (count !== 1) throw new Error(`${name}: its text is ${count} times in ${program}`);
    changed[program] = join(folder, `${program}.cjs`);
    writeFileSync(changed[program], source.replace(text, by));
  }
  plantedBundles.set(name, changed);
  return changed;
}
