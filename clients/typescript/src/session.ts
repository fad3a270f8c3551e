// Sessions: short-lived credentials minted from a key for one run.

import { fieldsOf, id, listOf, text, textsOrNull } from './shape.ts';

export interface Session {
  id: string;
  label: string;
  /** The leading part of the token, to recognise it by. */
  prefix: string;
  /** Full names `<server>__<tool>` the session may call; null: not scoped; []: none. */
  scopeTools: string[] | null;
  /** ISO 8601. */
  createdAt: string;
  expiresAt: string;
}

export interface CreatedSession extends Omit<Session, 'createdAt'> {
  /** The credential itself: it is shown this once. */
  token: string;
}

export interface NewSession {
  label?: string;
  /** 1 to 1440; 60 when left out. */
  ttlMinutes?: number;
  scopeTools?: string[] | null;
}

export function readCreatedSession(value: unknown): CreatedSession {
  const fields = fieldsOf(value, 'the session');
  return { token: id(fields, 'token'), ...readShared(fields) };
}

export function readSessions(value: unknown): Session[] {
  return listOf(fieldsOf(value, 'the answer'), 'sessions').map(each => {
    const fields = fieldsOf(each, 'a session');
    return { ...readShared(fields), createdAt: text(fields, 'createdAt') };
  });
}

function readShared(fields: Record<string, unknown>): Omit<Session, 'createdAt'> {
  return {
    id: id(fields, 'id'),
    label: text(fields, 'label'),
    prefix: text(fields, 'prefix'),
    scopeTools: textsOrNull(fields, 'scopeTools'),
    expiresAt: text(fields, 'expiresAt'),
  };
}
