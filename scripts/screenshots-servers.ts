// A tool server that somebody has to look at first, for the pictures of its page: the example with bad intentions.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Post } from './screenshots-people.ts';

const EXAMPLE = join(import.meta.dir, '../examples/tool-servers/notes.mjs');

/** Writes a server file that declares the command, and returns its path. */
export function declareNotes(dataDir: string): string {
  const notes = { command: process.execPath, args: [EXAMPLE], sandbox: { processes: 8, bestEffort: true } };
  const path = join(dataDir, 'toolgate.yaml');
  writeFileSync(path, JSON.stringify({ stdioServers: { notes } }));
  return path;
}

export async function addNotes(post: Post, admin: string, keyId: string): Promise<void> {
  const given = { name: 'notes', transport: 'stdio', server: 'notes', trust: 'reviewed' };
  const { id = '' } = await post('/admin/v1/tool-servers', admin, given);
  await post(`/admin/v1/tool-servers/${id}/test`, admin, {});
  await post(`/admin/v1/keys/${keyId}/connected-tools`, admin, { toolServerId: id });
}
