import type { NewsListener, ZoneNews } from '@kube-dns/resolver';
import { NotifyTarget, type NotifyTargetOptions } from './notify-target.js';
import type { ServerAddress } from '@kube-dns/transport';

export interface NotifierOptions extends Omit<NotifyTargetOptions, 'server'> {
  readonly servers: readonly ServerAddress[];
  readonly news: Pick<ZoneNews, 'listen' | 'leave'>;
}

/** Tells the servers of `--notify` what changes, by NOTIFY (RFC 1996). */
export class Notifier implements NewsListener {
  readonly targets: readonly NotifyTarget[];
  readonly #news: NotifierOptions['news'];
  #isClosed = false;

  constructor({ servers, news, ...rest }: NotifierOptions) {
    this.targets = servers.map((server) => new NotifyTarget({ server, ...rest }));
    this.#news = news;
  }

  /** The zone is complete: from now on its changes are told, and at once that it may have changed before. */
  start(): void {
    if (this.#isClosed || this.targets.length === 0) return;
    this.#news.listen(this);
    this.onFlush();
  }

  onChanged(names: readonly Uint8Array[]): void {
    for (const target of this.targets) for (const name of names) target.notify(name);
  }

  onFlush(): void {
    for (const target of this.targets) target.notifyZones();
  }

  close(): void {
    this.#isClosed = true;
    this.#news.leave(this);
    for (const target of this.targets) target.close();
  }
}
