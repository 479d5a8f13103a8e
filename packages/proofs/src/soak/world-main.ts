import { serveRemote } from '@kube-dns/bench';
import { World, type WorldMethods } from './world.js';

serveRemote<WorldMethods>(new World());
