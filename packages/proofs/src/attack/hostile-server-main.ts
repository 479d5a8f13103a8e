import { serveRemote } from '@kube-dns/bench';
import { HostileServer, type HostileServerMethods } from './hostile-server.js';

serveRemote<HostileServerMethods>(new HostileServer());
