import { serveRemote } from '../remote.js';
import { SteadyLoad, type SteadyLoadMethods } from './steady-load.js';

serveRemote<SteadyLoadMethods>(new SteadyLoad());
