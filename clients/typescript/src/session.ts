// Sessions: short-lived credentials minted from a key for one run.

import { type Fields, fieldsOf, id, listOf, own, text, textsOrNull } from './shape.ts';

export interface Session {
  id: string;
  label: string;
  /** The leading part of the token, to recognise it by. */
  prefix: string;
  /** Full names `<server>__<tool>` the session may call; null: not scoped; []: none. */
  scopeTools: string[] | null;
  /** What the session was made with; conditions see it as `session.attributes`. */
  attributes: Record<string, unknown>;
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
  /** Values that the person named, or that are given: `known()` holds for them. At most 256, of 512 characters each. */
  known?: string[];
  /** Facts for conditions, at most 4 KiB as JSON and 4 levels deep. They are stored and shown as given: no secrets. */
  attributes?: Record<string, unknown>;
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

function readShared(fields: Fields): Omit<Session, 'createdAt'> {
  return {
    id: id(fields, 'id'),
    label: text(fields, 'label'),
    prefix: text(fields, 'prefix'),
    scopeTools: textsOrNull(fields, 'scopeTools'),
    // A service of an earlier version has none.
    attributes:
      own(fields, 'attributes') === undefined ? {} : fieldsOf(own(fields, 'attributes'), '"attributes"'),
    expiresAt: text(fields, 'expiresAt'),
  };
}
