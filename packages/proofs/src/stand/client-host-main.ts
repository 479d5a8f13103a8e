import { serveRemote } from '@kube-dns/bench';
import { ClientHost, type ClientHostMethods } from './client-host.js';

serveRemote<ClientHostMethods>(new ClientHost());
