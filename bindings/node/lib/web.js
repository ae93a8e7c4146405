'use strict';
// A middleware for Express and for servers of node:http.

const { Guard } = require('./guard.js');
const { withDefaults, wrongValue } = require('./common.js');

const isTree = (value) => typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);

/**
 * The texts in the members with the names, at any depth of what a parser of queries or bodies made: `?url[0]=a` and `?url[x]=a` are
 * arrays and objects, too.
 */
function* textsOf(parsed, names) {
  const others = new Set([parsed]); // a loop over a set also visits what is added meanwhile
  const named = new Set();
  for (const one of others) {
    if (isTree(one)) for (const name of Object.keys(one)) (names.has(name) ? named : others).add(one[name]);
  }
  for (const one of named) {
    if (typeof one === 'string') yield one;
    else if (isTree(one)) for (const part of Object.values(one)) named.add(part);
  }
}

/** The values of the named parameters in the query, and in a query and a body that were parsed before. */
function* valuesOf(request, parameters) {
  const target = request.originalUrl ?? request.url ?? '';
  const question = target.indexOf('?');
  const query = new URLSearchParams(question < 0 ? '' : target.slice(question));
  for (const name of parameters) yield* query.getAll(name);
  yield* textsOf(request.query, parameters);
  yield* textsOf(request.body, parameters);
}

function guardMiddleware(given) {
  const options = withDefaults(given, { guard: null, parameters: ['url'], status: 403, blocksInvalid: false });
  const { guard, status } = options;
  if (!(guard instanceof Guard)) throw new TypeError('guard is a Guard');
  if (typeof status !== 'number') throw new TypeError('status is a status code of HTTP');
  if (!Number.isInteger(status) || status < 200 || status > 599) throw wrongValue('status is a status code of HTTP');
  if (!Array.isArray(options.parameters)) throw new TypeError('parameters are an array of names');
  const parameters = new Set(options.parameters.map(String));
  const invalid = { invalid: !!options.blocksInvalid };
  return function guardRequest(request, response, next) {
    for (const value of valuesOf(request, parameters)) {
      if (guard.blocked(value, invalid)) {
        response.statusCode = status;
        response.setHeader('Content-Type', 'text/plain; charset=utf-8');
        response.setHeader('Cache-Control', 'no-store');
        response.end('blocked\n');
        return;
      }
    }
    next();
  };
}

module.exports = { guardMiddleware };
