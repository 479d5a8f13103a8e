import { TcpClient, UdpClient } from './clients.js';
import { decodeMessage, encodeQuery, type Message, type Question } from './messages.js';

/** Where a query goes, and for how long its answer is waited for. */
export interface ExchangeOptions {
  /** 127.0.0.1 unless given. */
  readonly address?: string;
  readonly isOverTcp?: boolean;
  /** 5 s unless given. */
  readonly limitMs?: number;
}

/**
 * Sends a message from a new port, or on a connection of its own, and returns the first that comes back.
 * Rejects when none does in time.
 */
export async function exchange(
  port: number,
  message: Uint8Array,
  { address, isOverTcp = false, limitMs }: ExchangeOptions = {},
): Promise<Buffer> {
  const client = await (isOverTcp ? TcpClient : UdpClient).connect(port, address);
  try {
    return await client.ask(message, limitMs);
  } finally {
    await client.close();
  }
}

/** Asks a question, or for the address of a name. */
export async function ask(
  port: number,
  question: Question | string,
  options?: ExchangeOptions,
): Promise<Message> {
  const asked = typeof question === 'string' ? { name: question } : question;
  return decodeMessage(await exchange(port, encodeQuery(asked), options));
}
