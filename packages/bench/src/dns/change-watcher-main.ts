import { serveRemote } from '../remote.js';
import { ChangeWatcher, type ChangeWatcherMethods } from './change-watcher.js';

serveRemote<ChangeWatcherMethods>(new ChangeWatcher());
