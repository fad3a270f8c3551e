// A connection as our authorization server makes it, for tests that are not about signing in: a session that acts for a
// person, with an access token.

import { newId } from '../../src/guard/ids.ts';
import { mintToken } from '../../src/guard/secrets.ts';
import { sql } from '../support/faults.ts';
import type { TestService } from '../support/service.ts';

const MINUTE = 60_000;

interface Connected {
  /** Of the session. */
  id: string;
  token: string;
}

export async function connected(
  service: TestService,
  personId: string,
  keyId: string,
  clientName = 'Some Client',
): Promise<Connected> {
  const id = newId();
  const now = Date.now();
  const { token, hash } = mintToken('access');
  await sql(
    service.databaseUrl,
    `INSERT INTO sessions (id, key_id, hash, prefix, label, created_at, expires_at, person_id, client_id, client_name, used_at)
     VALUES ('${id}', '${keyId}', 'oauth ${id}', 'tg_oat_', '${clientName}', ${now}, ${now + 90 * 24 * 60 * MINUTE},
       '${personId}', 'https://client.example/id', '${clientName}', ${now})`,
    `INSERT INTO oauth_tokens (hash, session_id, kind, created_at, expires_at)
     VALUES ('${hash}', '${id}', 'access', ${now}, ${now + 15 * MINUTE})`,
  );
  return { id, token };
}
