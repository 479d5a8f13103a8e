import { serveRemote } from '@kube-dns/bench';
import { Asker, type AskerMethods } from './asker.js';

serveRemote<AskerMethods>(new Asker());
