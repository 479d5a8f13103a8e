import { serveRemote } from '../remote.js';
import { TcpCrowd, type TcpCrowdMethods } from './tcp-crowd.js';

serveRemote<TcpCrowdMethods>(new TcpCrowd());
