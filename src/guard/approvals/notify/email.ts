// Sends a notification by e-mail, as plain text and HTML, each complete on its own, through the configured mail server.
// Every send has its own connection and one time limit, so a server that stalls delays nothing else.

import { isIP } from 'node:net';
import { clipped, fullName, type NotificationMessage } from '../../../core/channels/message.ts';
import { visible } from '../../../core/text/visible.ts';
import { lookUp } from '../../outgoing/dns.ts';
import { htmlText, plainText } from './mail-text.ts';

const TIMEOUT_MS = 15_000;
const NAME_CHARS = 120;
const KEY_CHARS = 60;

interface MailRoute {
  /** smtp:// or smtps://, with the credentials in it. */
  smtpUrl: string;
  from: string;
  to: string[];
  timeoutMs?: number;
}

interface MailResult {
  /** Addresses that the server refused although it accepted the message for others. */
  rejected: string[];
}

/**
 * Throws unless the server accepted the message for at least one address. The error is a short sentence without
 * secrets.
 */
export async function sendEmail(route: MailRoute, message: NotificationMessage): Promise<MailResult> {
  const timeoutMs = route.timeoutMs ?? TIMEOUT_MS;
  const transport = await openTransport(await located(route.smtpUrl), timeoutMs);
  const late = Promise.withResolvers<never>();
  // The transport's own limits apply to single steps: a server that sends its replies slowly would keep within them
  // all.
  const timer = setTimeout(() => late.reject({ code: 'ETIMEDOUT' }), timeoutMs);
  try {
    const sent = await Promise.race([transport.sendMail(mailOf(route, message)), late.promise]);
    return { rejected: sent.rejected };
  } catch (error) {
    throw asMailError(error, timeoutMs);
  } finally {
    clearTimeout(timer);
    transport.close({ force: true });
  }
}

interface Server {
  url: string;
  /** The name that the server's certificate must match. */
  servername?: string;
}

/** Replaces the host name by an address, because the library would look it up in the runtime's thread pool. */
export async function located(smtpUrl: string): Promise<Server> {
  const url = new URL(smtpUrl);
  const servername = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(servername) !== 0) return { url: smtpUrl };
  const found = await lookUp(servername).catch(cause => {
    throw new Error(SENTENCES['EDNS'], { cause });
  });
  const addresses = found.map(each => each.address);
  // IPv4 is preferred, as in addresses.ts. The choice is random, so that the next attempt may use another address.
  const four = addresses.filter(each => isIP(each) === 4);
  const usable = four.length > 0 ? four : addresses;
  const address = usable[Math.floor(Math.random() * usable.length)] ?? servername;
  url.hostname = address.includes(':') ? `[${address}]` : address;
  return { url: url.href, servername };
}

/** The library would be a fifth of what a start loads, and few installations send mail, so it is loaded when needed. */
async function openTransport(server: Server, timeoutMs: number) {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    ...server,
    // A pool with one connection is used because only a pool can be closed while it is busy.
    pool: true,
    maxConnections: 1,
    maxRequeues: 0,
    dnsTimeout: timeoutMs,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    // This is set explicitly, because an environment variable could turn it off. What the URL of the server says counts.
    tls: { rejectUnauthorized: true },
  });
}

function mailOf({ from, to }: MailRoute, message: NotificationMessage) {
  return {
    from,
    // Addresses are given as objects, so that one is never parsed as a list of addresses.
    to: to.map(address => ({ name: '', address })),
    subject: subject(message),
    text: plainText(message),
    html: htmlText(message),
    // The id is the same for every attempt, so that a mail program that got the message twice can show it once. Who is
    // asked again by another channel gets another message.
    messageId: `<notification.${message.id}@${domainOf(from)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

function subject(message: NotificationMessage): string {
  const name = clipped(fullName(message), NAME_CHARS);
  return `Approve ${name}? (key "${clipped(visible(message.keyName), KEY_CHARS)}")`;
}

function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost';
}

const SENTENCES: Record<string, string> = {
  EAUTH: 'the mail server refused the user name or password',
  ENOAUTH: 'the mail server refused the user name or password',
  EENVELOPE: 'the mail server refused the sender or every recipient',
  EMESSAGE: 'the mail server refused the message',
  EDNS: 'the name of the mail server could not be resolved',
  ETLS: 'no secure connection to the mail server',
  ECONNECTION: 'the mail server closed the connection',
  EPROTOCOL: 'the mail server gave an answer that is not SMTP',
};

/** The texts of servers and libraries may contain addresses and credentials, so only the reply code is kept. */
export function asMailError(error: unknown, timeoutMs: number): Error {
  const { code, responseCode } = (error ?? {}) as { code?: string; responseCode?: number };
  if (code === 'ETIMEDOUT') return new Error(`no answer from the mail server within ${timeoutMs / 1000} s`);
  const sentence = SENTENCES[code ?? ''] ?? 'no connection to the mail server';
  return new Error(responseCode ? `${sentence} (${responseCode})` : sentence, { cause: error });
}
