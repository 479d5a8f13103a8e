import { TcpClient, UdpClient } from './clients.js';
import { decodeMessage, encodeQuery, type Message, type Question } from './messages.js';

/** The server of a query, and how long to wait for the answer. */
export interface ExchangeOptions {
  /** Default: 127.0.0.1. */
  readonly address?: string;
  readonly isOverTcp?: boolean;
  /** Default: a minute. */
  readonly limitMs?: number;
}

/**
 * Sends a message from a new port, or on a new connection, and returns the first message received. Rejects
 * after `limitMs`.
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
