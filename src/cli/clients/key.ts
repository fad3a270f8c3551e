// The key that a client uses: the one that is given, the one that it has already, or a new one, for which the running
// service is asked as an admin.

import { hostname } from 'node:os';
import type { KeyWithSecret } from '../../core/api/resources.ts';
import type { Client } from '../../core/clients/client.ts';
import { keyId } from '../admin.ts';
import { usageError } from '../exit.ts';
import type { Http } from '../http.ts';
import type { IO } from '../io.ts';
import { type AdminOptions, asAdmin, type KeyOptions } from '../service-options.ts';
import type { Memory } from './memory.ts';

export interface KeyChoice extends KeyOptions, AdminOptions {
  policy?: string;
  /** A new policy for this folder. */
  folder?: string;
}

/** What stands for a key that is not made yet. */
export const NEW_KEY = 'tg_key_…';

/** The key to use, or null if a new one has to be made: --policy and --folder always make one. */
export function knownKey(
  io: IO,
  options: KeyChoice,
  client: Client,
  memory: Memory,
  baseUrl: string,
): string | null {
  const isNew = options.policy !== undefined || options.folder !== undefined;
  const given = options.key || (isNew ? undefined : io.env['TOOLGATE_API_KEY']);
  if (given?.startsWith('tg_adm_')) throw usageError('The key that is given is an admin token.');
  if (given) return given;
  if (isNew) return null;
  const stored = memory.clients[client.id];
  return stored !== undefined && stored.baseUrl === baseUrl ? stored.key : null;
}

export function keyNameOf(client: Client): string {
  return `${client.name} on ${hostname()}`;
}

export async function newKey(http: Http, client: Client, policy: string): Promise<KeyWithSecret> {
  return http.post<KeyWithSecret>('/keys', { name: keyNameOf(client), policyId: policy });
}

export async function revokeKey(io: IO, options: KeyChoice, id: string): Promise<void> {
  const http = asAdmin(io, options);
  await http.delete(`/keys/${await keyId(http, id)}`);
}

/** A text in which no key can be read. The beginning of one is shown wherever keys are listed. */
export function masked(text: string): string {
  return text.replace(/(tg_[a-z]{3}_\w{6})\w+/g, '$1…');
}
