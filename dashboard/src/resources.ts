// The shapes of what an administrator looks after, as the administration's lists show them. Those of the live pages
// are in api.ts.

import type { Role } from './api.ts';

export type Action = 'allow' | 'deny' | 'require_approval';

export interface Rule {
  tool: string;
  action: Action;
  reason?: string;
}

export interface Policy {
  id: string;
  name: string;
  description: string;
  version: number;
  createdAt: string;
  updatedAt: string;
}

export interface WholePolicy extends Policy {
  rules: Rule[];
}

export interface PolicyVersion {
  version: number;
  name: string;
  rules: Rule[];
  createdAt: string;
  createdBy: string;
}

export interface Session {
  id: string;
  keyId: string;
  label: string;
  prefix: string;
  scopeTools: string[] | null;
  createdAt: string;
  expiresAt: string;
  revokedAt: string | null;
}

export interface ConnectedTool {
  id: string;
  name: string;
  transport: 'http' | 'sse' | 'stdio';
  url?: string;
  server?: string;
  hasHeaders: boolean;
  createdAt: string;
  health: { state: 'idle' | 'ready' | 'down'; error: string | null; since: string };
  tools: { name: string; drifted: boolean }[];
}

export interface Definition {
  name: string;
  accepted: Record<string, unknown>;
  changed: Record<string, unknown> | null;
  changedDigest: string | null;
  changedAt: string | null;
}

export interface Webhook {
  id: string;
  url: string;
  keyId: string | null;
  events: string[];
  enabled: boolean;
  disabledReason: string | null;
  previousSecretUntil: string | null;
  createdAt: string;
}

export interface Attempt {
  at: string;
  status: number | null;
  durationMs: number;
  error: string | null;
  response: string | null;
}

export interface Delivery {
  id: string;
  eventId: string;
  type: string;
  referenceId: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: Attempt[];
  nextAttemptAt: string | null;
}

export interface Operator {
  id: string;
  email: string;
  role: Role;
  status: 'active' | 'invited';
  createdAt: string;
}

export interface Setting {
  name: string;
  env: string;
  meaning: string;
  default: string | null;
  value: string | null;
  origin: 'default' | 'environment' | 'file';
}

export interface Settings {
  version: string;
  settings: Setting[];
  stdioServers: string[];
}

export interface SignIn {
  id: string;
  createdAt: string;
  lastUsedAt: string;
  userAgent: string;
  ip: string;
  current: boolean;
}
