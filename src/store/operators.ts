// Operators: the people who sign in, and the one-time links that let the first of them in.

import type { Queries } from './db.ts';

export const ROLES = ['admin', 'approver', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

export interface OperatorRecord {
  id: string;
  email: string;
  role: Role;
  createdAt: number;
}

export async function insertOperator(
  db: Queries,
  operator: OperatorRecord,
  passwordHash: string,
): Promise<void> {
  await db.run(
    'INSERT INTO operators (id, email, role, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)',
    [operator.id, operator.email, operator.role, passwordHash, operator.createdAt],
  );
}

export async function anyOperator(db: Queries): Promise<boolean> {
  return (await db.all('SELECT id FROM operators LIMIT 1')).length > 0;
}

export async function insertSetupLink(db: Queries, hash: string, now: number): Promise<void> {
  await db.run('INSERT INTO setup_links (hash, created_at) VALUES ($1, $2)', [hash, now]);
}

/** Takes a link; false when it was not there (any more). */
export async function takeSetupLink(db: Queries, hash: string): Promise<boolean> {
  return (await db.run('DELETE FROM setup_links WHERE hash = $1', [hash])) === 1;
}
