import { serveRemote } from '@kube-dns/bench';
import { type ApiServerMethods, ApiServerProgram } from './api-server.js';

serveRemote<ApiServerMethods>(new ApiServerProgram());
