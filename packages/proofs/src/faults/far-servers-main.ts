import { serveRemote } from '@kube-dns/bench';
import { FarServers, type FarServersMethods } from './far-servers.js';

serveRemote<FarServersMethods>(new FarServers());
