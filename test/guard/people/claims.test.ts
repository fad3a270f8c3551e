// What a provider's claims come to: which e-mail counts, and which role groups and settings give.

import { describe, expect, test } from 'bun:test';
import { type ClaimRules, type Claims, readPerson } from '../../../src/guard/people/claims.ts';
import { loadConfig } from '../../../src/settings/config.ts';

const RULES: ClaimRules = {
  oidcAllowedDomains: [],
  oidcRoleClaim: 'groups',
  oidcGroupsClaim: null,
  oidcRoles: [
    { role: 'user', group: 'everyone' },
    { role: 'viewer', group: 'staff' },
    { role: 'admin', group: 'platform' },
    { role: 'approver', group: 'on-call' },
  ],
  oidcDefaultRole: null,
};

const read = (claims: Claims, rules: Partial<ClaimRules> = {}) =>
  readPerson({ email: 'ops@example.com', email_verified: true, ...claims }, { ...RULES, ...rules });

describe('roles', () => {
  const nested = { oidcRoleClaim: 'realm_access.roles' };
  const url = { oidcRoleClaim: 'https://example.com/groups' };
  const CASES: [string, Claims, Partial<ClaimRules>, string | null][] = [
    ['no group', {}, {}, null],
    ['the greatest of several', { groups: ['staff', 'platform', 'on-call'] }, {}, 'admin'],
    ['one that is a text', { groups: 'on-call' }, {}, 'approver'],
    ['a group of another spelling', { groups: ['Staff', 'staff ', 'staf'] }, {}, null],
    ['what is no text', { groups: [['staff'], { staff: true }, 1, null] }, {}, null],
    ['a group of users', { groups: ['everyone'] }, {}, 'user'],
    ['a group of users and a higher one', { groups: ['everyone', 'staff'] }, {}, 'viewer'],
    ['a claim inside', { realm_access: { roles: ['staff'] } }, nested, 'viewer'],
    ['a claim inside nothing', { realm_access: null }, nested, null],
    ['a claim whose name has dots', { 'https://example.com/groups': ['staff'] }, url, 'viewer'],
    ['what every object has', { groups: ['staff'] }, { oidcRoleClaim: 'constructor.name' }, null],
    ['the default', {}, { oidcDefaultRole: 'viewer' }, 'viewer'],
    ['a group over the default', { groups: ['platform'] }, { oidcDefaultRole: 'viewer' }, 'admin'],
  ];
  for (const [what, claims, rules, role] of CASES) {
    test(`${what}: ${role ?? 'none'}`, () => expect(read(claims, rules).role).toBe(role as never));
  }
});

test('groups come from a claim only where one is named, and only names that a group can have', () => {
  const teams = { oidcGroupsClaim: 'realm.teams' };
  const groups = (value: unknown) => read({ realm: { teams: value } }, teams).groups;
  expect(read({ groups: ['finance'] }).groups).toBeNull();
  expect(groups(undefined)).toEqual([]);
  expect(groups('finance')).toEqual(['finance']);
  expect(groups(['finance', '', 1, null, ['x'], 'a\nb', 'x'.repeat(129), 'Finance '])).toEqual([
    'finance',
    'Finance ',
  ]);
  expect(groups(Array.from({ length: 500 }, (_, index) => `g${index}`))).toHaveLength(200);
});

describe('e-mails', () => {
  test('are compared in one spelling', () => {
    expect(read({ email: ' Ops@Example.COM ' }).email).toBe('ops@example.com');
    expect(read({ email: 'ops@EXAMPLE.com' }, { oidcAllowedDomains: ['example.com'] }).email).toBe(
      'ops@example.com',
    );
  });

  test('of another domain do not pass, nor of one that only ends alike', () => {
    const rules = { oidcAllowedDomains: ['example.com'] };
    for (const email of [
      'a@evil.example',
      'a@notexample.com',
      'a@sub.example.com',
      'a@example.com.evil.example',
    ]) {
      expect(() => read({ email, groups: ['platform'] }, rules)).toThrow('domain cannot sign in');
    }
  });

  test('are not relied on unless the provider says that they are verified', () => {
    for (const said of [false, 'false']) {
      expect(() => read({ email_verified: said, groups: ['platform'] })).toThrow('not verified');
    }
    for (const said of [undefined, null, 1, 'yes', {}]) {
      const claims = { email_verified: said };
      expect(() => read(claims, { oidcDefaultRole: 'viewer', oidcAllowedDomains: ['example.com'] })).toThrow(
        'does not say',
      );
      expect(read({ ...claims, groups: ['staff'] })).toMatchObject({ emailVerified: false, role: 'viewer' });
    }
    expect(read({ email_verified: 'true' }).emailVerified).toBe(true);
  });
});

describe('settings', () => {
  const load = (env: Record<string, string>) => loadConfig(env, '/nonexistent').config;
  const OIDC = { TOOLGATE_OIDC_ISSUER: 'https://id.example.com/', TOOLGATE_OIDC_CLIENT_ID: 'toolgate' };

  test('are read', () => {
    const roles = { TOOLGATE_OIDC_ROLES: 'admin=platform, viewer=all staff,viewer=a=b,user=everyone' };
    const found = load({ ...OIDC, ...roles, TOOLGATE_OIDC_ALLOWED_DOMAINS: 'Example.com' });
    expect(found.oidcIssuer).toBe('https://id.example.com/');
    expect(found.oidcAllowedDomains).toEqual(['example.com']);
    expect(found.oidcRoles).toEqual([
      { role: 'admin', group: 'platform' },
      { role: 'viewer', group: 'all staff' },
      { role: 'viewer', group: 'a=b' },
      { role: 'user', group: 'everyone' },
    ]);
    const byDefault = { TOOLGATE_OIDC_DEFAULT_ROLE: 'user', TOOLGATE_OIDC_ALLOWED_DOMAINS: 'example.com' };
    expect(load({ ...OIDC, ...byDefault }).oidcDefaultRole).toBe('user');
  });

  const WRONG: [Record<string, string>, string][] = [
    [{ TOOLGATE_OIDC_ISSUER: 'https://id.example.com' }, 'go together'],
    [{ TOOLGATE_OIDC_CLIENT_ID: 'toolgate' }, 'go together'],
    [{ ...OIDC, TOOLGATE_OIDC_ISSUER: 'http://id.example.com' }, 'an https:// address'],
    [{ ...OIDC, TOOLGATE_OIDC_ISSUER: 'https://id.example.com?a=b' }, 'an https:// address'],
    [{ ...OIDC, TOOLGATE_OIDC_DEFAULT_ROLE: 'viewer' }, 'TOOLGATE_OIDC_ALLOWED_DOMAINS is not'],
    [{ ...OIDC, TOOLGATE_OIDC_DEFAULT_ROLE: 'owner' }, 'one of admin, approver, viewer'],
    [{ ...OIDC, TOOLGATE_OIDC_ROLES: 'owner=platform' }, 'roles and groups'],
    [{ ...OIDC, TOOLGATE_OIDC_SCOPES: 'email' }, 'openid among them'],
    [{ ...OIDC, TOOLGATE_OIDC_ALLOWED_DOMAINS: '@example.com' }, 'domains such as'],
  ];
  for (const [env, sentence] of WRONG) {
    test(`that are wrong say so: ${sentence}`, () => expect(() => load(env)).toThrow(sentence));
  }
});
