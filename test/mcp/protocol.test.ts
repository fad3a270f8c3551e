// Messages as they are read: what is a request, a notification, an answer, and what is none of them.

import { expect, test } from 'bun:test';
import { type Json, parseJson } from '../../src/core/wire/json.ts';
import { errorMessage, metaOf, RpcError, readMessage } from '../../src/mcp/protocol.ts';

const read = (text: string) => readMessage(parseJson(text));
const of = (rest: string) => read(`{"jsonrpc":"2.0",${rest}}`);

test('requests and notifications, with parameters or without', () => {
  expect(of('"id":1,"method":"m"')).toEqual({ kind: 'request', id: 1, method: 'm', params: {} });
  expect(of('"id":"a","method":"m","params":{"x":1}')).toEqual({
    kind: 'request',
    id: 'a',
    method: 'm',
    params: { x: 1 },
  });
  expect(of('"method":"m"')).toEqual({ kind: 'notification', method: 'm', params: {} });
  expect(of('"method":"m","params":{"x":1}')).toMatchObject({ params: { x: 1 } });
});

test('answers, with what an error leaves out filled in and an invalid id left out', () => {
  const answer = { kind: 'response', result: null, error: null };
  expect(of('"id":1,"result":{"a":2}')).toEqual({ ...answer, id: 1, result: { a: 2 } } as never);
  expect(of('"id":"1","result":{}')).toEqual({ ...answer, id: '1', result: {} } as never);
  for (const id of ['null', '{}', 'true', '[1]', '12345678901234567890'])
    expect(of(`"id":${id},"result":{}`)).toEqual({ ...answer, id: null, result: {} } as never);
  expect(of('"id":1,"error":{}')).toEqual({
    ...answer,
    id: 1,
    error: { code: -32603, message: '' },
  } as never);
  expect(of('"id":1,"error":{"code":-5,"message":"no","data":[1]},"result":{}')).toEqual({
    ...answer,
    id: 1,
    error: { code: -5, message: 'no', data: [1] },
  } as never);
  expect(of('"id":1,"error":null,"result":{}')).toMatchObject({ error: null, result: {} });
});

test('what is no message says why', () => {
  const NONE = 'a message is an object with "jsonrpc": "2.0"';
  const METHOD = '"method" is a string of at most 1024 characters';
  const ID = '"id" is a string of at most 1024 characters or an integer';
  const wrong: [text: string, why: string][] = [
    ['null', NONE],
    ['[]', NONE],
    ['"text"', NONE],
    ['12345678901234567890', NONE],
    ['{"method":"m"}', NONE],
    ['{"jsonrpc":"1.0","method":"m"}', NONE],
    ['{"jsonrpc":2.0,"method":"m"}', NONE],
    ['{"jsonrpc":"2.0","method":7}', METHOD],
    ['{"jsonrpc":"2.0","method":null}', METHOD],
    [`{"jsonrpc":"2.0","method":"${'m'.repeat(1025)}"}`, METHOD],
    ['{"jsonrpc":"2.0","method":"m","params":[1]}', '"params" is an object'],
    ['{"jsonrpc":"2.0","method":"m","params":null}', '"params" is an object'],
    ['{"jsonrpc":"2.0","method":"m","params":12345678901234567890}', '"params" is an object'],
    ['{"jsonrpc":"2.0","method":"m","id":null}', ID],
    ['{"jsonrpc":"2.0","method":"m","id":1.5}', ID],
    ['{"jsonrpc":"2.0","method":"m","id":{}}', ID],
    [`{"jsonrpc":"2.0","method":"m","id":"${'i'.repeat(1025)}"}`, ID],
    ['{"jsonrpc":"2.0","id":1}', 'a response has a "result" or an "error"'],
    ['{"jsonrpc":"2.0","id":1,"result":[]}', 'a response has a "result" or an "error"'],
    ['{"jsonrpc":"2.0","id":1,"error":"no"}', 'a response has a "result" or an "error"'],
  ];
  for (const [text, why] of wrong) expect(() => read(text), text).toThrow(`Invalid request: ${why}.`);
});

test('what stands in _meta where that is an object, and an error with its data where it has some', () => {
  expect(metaOf({ _meta: { a: 1 } })).toEqual({ a: 1 });
  for (const _meta of [[1], 'x', null] as Json[]) expect(metaOf({ _meta })).toEqual({});
  expect(metaOf({})).toEqual({});
  const told = (data?: Json) => errorMessage(7, new RpcError(-1, 'no', data === undefined ? {} : { data }));
  expect(told()).toEqual({ jsonrpc: '2.0', id: 7, error: { code: -1, message: 'no' } });
  expect(told(null)).toEqual({ jsonrpc: '2.0', id: 7, error: { code: -1, message: 'no', data: null } });
});
