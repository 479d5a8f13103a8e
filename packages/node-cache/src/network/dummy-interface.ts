import { isIPv4 } from 'node:net';
import { shortAddress } from '@kube-dns/wire';
import { commandError, type CommandResult, NetworkError, type Run, runOrThrow } from './command.js';

const IS_ABSENT = /does not exist|Cannot find device/;
const IS_UNKNOWN_KIND = /Unknown device type|not supported/;
/** A bridge without ports does the same where the kernel has no dummy. */
const KINDS = ['dummy', 'bridge'] as const;

/** An interface as `ip -j address` prints it; the fields in use. */
interface Listed {
  readonly ifalias?: string;
  readonly linkinfo?: { readonly info_kind?: string };
  readonly addr_info?: readonly { readonly local?: string }[];
}

/** What is to be there, and was not. */
export interface InterfaceChange {
  readonly isNew: boolean;
  readonly addresses: readonly string[];
}

/**
 * An interface that leads nowhere and has the addresses that are listened on, so that they are this node's. It is
 * never "up": an address is local without that. Its alias names the process that keeps it. Methods reject with a
 * NetworkError.
 */
export class DummyInterface {
  readonly #name: string;
  readonly #addresses: readonly string[];
  readonly #run: Run;

  constructor(name: string, addresses: readonly string[], run: Run) {
    this.#name = name;
    this.#addresses = addresses;
    this.#run = run;
  }

  /** Adds the interface and the addresses that are missing; what is there already is used. */
  async add(): Promise<InterfaceChange> {
    const found = await this.#find();
    if (found === undefined) await this.#addLink();
    else this.#checkKind(found);
    const there = new Set(found?.addr_info?.map(({ local = '' }) => local));
    const addresses = this.#addresses.filter((address) => !there.has(shortAddress(address)));
    for (const address of addresses) await this.#addAddress(address);
    return { isNew: found === undefined, addresses };
  }

  /** The process that keeps interface and rules; '' for none. */
  async owner(): Promise<string> {
    return (await this.#find())?.ifalias ?? '';
  }

  async setOwner(id: string): Promise<void> {
    await this.#ip('link', 'set', 'dev', this.#name, 'alias', id);
  }

  async remove(): Promise<void> {
    if ((await this.#find()) !== undefined) await this.#ip('link', 'delete', 'dev', this.#name);
  }

  async #find(): Promise<Listed | undefined> {
    const words = ['ip', '-d', '-j', 'address', 'show', 'dev', this.#name];
    const result = await this.#run(words);
    if (result.status === 0) return parseList(result);
    if (IS_ABSENT.test(result.stderr)) return undefined;
    throw commandError('interface', 'ip', result);
  }

  /** One with another use would lose its addresses at the end. */
  #checkKind({ linkinfo }: Listed): void {
    const kind = linkinfo?.info_kind ?? 'hardware';
    if ((KINDS as readonly string[]).includes(kind)) return;
    const reason = `is no dummy but ${kind}; another name is --interfacename=NAME`;
    throw new NetworkError('interface', `the interface ${this.#name} ${reason}`);
  }

  async #addLink(): Promise<void> {
    let result: CommandResult | undefined;
    for (const kind of KINDS) {
      result = await this.#run(['ip', 'link', 'add', this.#name, 'type', kind]);
      if (result.status === 0) return;
      if (!IS_UNKNOWN_KIND.test(result.stderr)) break;
    }
    throw commandError('interface', 'ip', result!);
  }

  /** Nothing answers for it elsewhere, so IPv6 need not look for a duplicate, during which it cannot be listened on. */
  async #addAddress(address: string): Promise<void> {
    const words = ['address', 'add', `${address}/${isIPv4(address) ? 32 : 128}`];
    const how = isIPv4(address) ? [] : ['nodad'];
    await this.#ip(...words, 'dev', this.#name, ...how);
  }

  async #ip(...words: readonly string[]): Promise<void> {
    await runOrThrow(this.#run, 'interface', ['ip', ...words]);
  }
}

function parseList({ stdout }: CommandResult): Listed | undefined {
  try {
    return (JSON.parse(stdout) as readonly Listed[])[0];
  } catch (cause) {
    throw new NetworkError('interface', 'ip: its list of addresses is not JSON', { cause });
  }
}
