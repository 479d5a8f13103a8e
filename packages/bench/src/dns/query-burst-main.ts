import { serveRemote } from '../remote.js';
import { QueryBurst, type QueryBurstMethods } from './query-burst.js';

serveRemote<QueryBurstMethods>(new QueryBurst());
