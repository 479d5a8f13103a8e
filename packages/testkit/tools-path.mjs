// Puts kubectl and helm in front of the PATH, where .ci/run has fetched them.
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kube-dns');
const folders = existsSync(cache)
  ? readdirSync(cache).filter((name) => /^kubectl-\w+$/.test(name))
  : [];
process.env.PATH = [...folders.map((name) => join(cache, name, 'bin')), process.env.PATH].join(
  delimiter,
);
