import { serveRemote } from '../remote.js';
import { NameServer, type NameServerMethods } from './name-server.js';

serveRemote<NameServerMethods>(new NameServer());
