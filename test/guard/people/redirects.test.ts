// Which addresses anybody who registers a client may name.

import { expect, test } from 'bun:test';
import { isOpenRedirect } from '../../../src/guard/people/redirects.ts';

test('addresses of this machine and listed ones are open, others are not', () => {
  const listed = ['https://app.example/callback', 'http://app.example/callback', 'https://app.example/#x'];
  for (const uri of ['http://localhost/cb', 'http://127.0.0.1:8080/cb', 'https://app.example/callback'])
    expect([uri, isOpenRedirect(uri, listed)]).toEqual([uri, true]);
  for (const uri of ['https://other.example/callback', 'http://localhost.example/cb'])
    expect([uri, isOpenRedirect(uri, listed)]).toEqual([uri, false]);
});

test('what is no redirect address is not open, although it is listed', () => {
  const wrong = ['http://app.example/cb', 'https://app.example/#x', 'https://a:b@app.example/', 'no address'];
  for (const uri of wrong) expect([uri, isOpenRedirect(uri, wrong)]).toEqual([uri, false]);
});
