// `toolgate connect <client> --for-other-machine`: prints a command that connects the client elsewhere. It contains a ticket,
// which the service takes once.

import type { ConnectTicket } from '../../core/api/resources.ts';
import type { Client } from '../../core/clients/client.ts';
import { type IO, say } from '../io.ts';
import { printJson, time } from '../print.ts';
import { asAdmin } from '../service-options.ts';
import type { Options } from './options.ts';
import { folderElsewhere, policyOf } from './policy.ts';

export async function offer(io: IO, client: Client, options: Options): Promise<void> {
  const http = asAdmin(io, options);
  const { policy, folder = '' } = options;
  const choice = policy === undefined ? { folder: folderElsewhere(folder) } : { name: policy };
  const { id: policyId, name } = await policyOf(http, choice);
  const made = await http.post<ConnectTicket>('/connect-tickets', { client: client.id, policyId });
  if (options.json) return printJson(io, made);
  io.stdout.write(`${made.command}\n`);
  say(
    io,
    `Run this on the other machine before ${time(made.expiresAt)}. It works once, and makes a key with the policy "${name}".`,
  );
  say(io, made.platform === null ? NONE : `It brings the program along for ${made.platform}; ${ELSEWHERE}`);
  if (/127\.0\.0\.1|localhost|\[::1\]/.test(made.command)) say(io, LOOPBACK);
}

const ELSEWHERE = 'on other platforms Toolgate has to be installed first.';
const NONE =
  'Toolgate has to be installed there first: this service has no executable to hand out. It has one if it is a single-file executable itself, or after npm run build -- executable.';
const LOOPBACK =
  'This address is that of the machine itself, which others cannot reach. Set TOOLGATE_PUBLIC_URL for the service, or give --base-url.';
