// Who has sent a request, by what browsers say about it: one table for the one function by which all routes tell pages of
// this service from those of other sites.

import { describe, expect, test } from 'bun:test';
import { requireSender, type Sender, senderOf } from '../../../src/http/serving/origin.ts';
import { type Config, loadConfig } from '../../../src/settings/config.ts';

/** Over which address people use the service, which one a request names after the proxy, and what the browser said. */
type Case = [site: string | null, origin: string | null, sender: Sender];

const TABLES: { publicUrl: string | null; url: string; cases: Case[] }[] = [
  {
    publicUrl: null,
    url: 'http://127.0.0.1:8080/x',
    cases: [
      [null, null, 'program'],
      ['same-origin', null, 'own page'],
      ['same-origin', 'null', 'own page'],
      ['same-origin', 'http://127.0.0.1:8080', 'own page'],
      // A proxy that speaks https, and a service that does not know its address.
      ['same-origin', 'https://gate.example', 'own page'],
      [null, 'http://127.0.0.1:8080', 'own page'],
      [null, 'null', 'unnamed page'],
      ['none', null, 'unnamed page'],
      [null, 'http://127.0.0.1:8080.evil.example', 'other page'],
      [null, 'http://127.0.0.1:8081', 'other page'],
      [null, 'https://127.0.0.1:8080', 'other page'],
      ['same-site', null, 'other page'],
      ['cross-site', null, 'other page'],
      ['cross-site', 'null', 'other page'],
      ['', 'null', 'other page'],
      // The page of plain http: the proxy hides from us that the request came over https, and the browser does not.
      ['cross-site', 'http://127.0.0.1:8080', 'other page'],
    ],
  },
  {
    publicUrl: 'http://gate.example',
    url: 'http://10.0.0.7:8080/x',
    cases: [
      [null, 'http://gate.example', 'own page'],
      [null, 'http://10.0.0.7:8080', 'own page'],
      [null, 'http://gate.example:81', 'other page'],
      [null, 'https://gate.example', 'other page'],
    ],
  },
  {
    publicUrl: 'https://gate.example',
    url: 'http://gate.example/x',
    cases: [
      [null, null, 'program'],
      [null, 'https://gate.example', 'own page'],
      ['same-origin', 'https://gate.example', 'own page'],
      ['same-origin', null, 'own page'],
      ['same-origin', 'null', 'own page'],
      [null, 'http://gate.example', 'other page'],
      ['same-site', 'http://gate.example', 'other page'],
      ['same-origin', 'http://gate.example', 'other page'],
      ['same-site', 'https://gate.example', 'other page'],
      [null, 'https://gate.example:8443', 'other page'],
      [null, 'https://gate.example.evil.example', 'other page'],
      [null, 'HTTPS://GATE.EXAMPLE', 'other page'],
      [null, 'null', 'unnamed page'],
    ],
  },
  {
    publicUrl: 'https://gate.example',
    url: 'http://localhost:8080/x',
    cases: [
      [null, 'http://localhost:8080', 'other page'],
      ['same-origin', 'http://localhost:8080', 'other page'],
    ],
  },
];

const configOf = (publicUrl: string | null): Config =>
  loadConfig(publicUrl === null ? {} : { TOOLGATE_PUBLIC_URL: publicUrl }, '/nowhere').config;

function requestOf(url: string, site: string | null, origin: string | null): Request {
  const headers = {
    ...(site !== null && { 'Sec-Fetch-Site': site }),
    ...(origin !== null && { Origin: origin }),
  };
  return new Request(url, { method: 'POST', headers });
}

describe.each(TABLES)('$publicUrl at $url', ({ publicUrl, url, cases }) => {
  const config = configOf(publicUrl);
  test.each(cases)('%p from %p: %s', (site, origin, sender) => {
    expect(senderOf(config, requestOf(url, site, origin))).toBe(sender);
  });
});

test('a route gets requests only of the senders that it accepts', () => {
  const [config, url] = [configOf(null), 'http://127.0.0.1:8080/x'];
  const hidden = requestOf(url, null, 'null');
  expect(() => requireSender(config, hidden, 'own page', 'unnamed page')).not.toThrow();
  expect(() => requireSender(config, hidden, 'own page', 'program')).toThrow('own pages');
});
