import { serveRemote } from '../remote.js';
import { Echo, type EchoMethods } from './echo.js';

serveRemote<EchoMethods>(new Echo());
