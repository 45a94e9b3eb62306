// Makes a screenshot a picture of at most 256 colours, which is a half to a third of its size: smaller(file). For PNGs as Chromium writes them (8 bits, RGB or RGBA, not interlaced).
'use strict';
const fs = require('node:fs');
const zlib = require('node:zlib');

/** The bytes of an image without its filters (PNG specification, section 9). */
function unfiltered(data, width, height, bytes) {
  const stride = width * bytes;
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const a = x >= bytes ? out[at - bytes] : 0;
      const b = y > 0 ? out[at - stride] : 0;
      const c = x >= bytes && y > 0 ? out[at - stride - bytes] : 0;
      const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
      const paeth = da <= db && da <= dc ? a : db <= dc ? b : c;
      out[at] = data[y * (stride + 1) + 1 + x] + [0, a, b, (a + b) >> 1, paeth][filter];
    }
  }
  return out;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  let crc = ~0;
  for (const byte of body) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(~crc >>> 0, body.length + 4);
  return out;
}

function smaller(file) {
  const png = fs.readFileSync(file);
  const parts = [];
  let header;
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    if (type === 'IHDR') header = data;
    if (type === 'IDAT') parts.push(data);
  }
  const [width, height, bytes] = [header.readUInt32BE(0), header.readUInt32BE(4), { 2: 3, 6: 4 }[header[9]]];
  if (header[8] !== 8 || !bytes || header[12] !== 0) throw new Error(`${file} is not a PNG as Chromium writes them`);
  const pixels = unfiltered(zlib.inflateSync(Buffer.concat(parts)), width, height, bytes);

  // The most frequent colours, of which each stands for those that are nearly the same; the others take the nearest.
  const count = new Map();
  for (let i = 0; i < pixels.length; i += bytes) {
    const colour = (pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2];
    count.set(colour, (count.get(colour) ?? 0) + 1);
  }
  const palette = [];
  const distance = (p, q) => ((p >> 16) - (q >> 16)) ** 2 + (((p >> 8) & 255) - ((q >> 8) & 255)) ** 2 + ((p & 255) - (q & 255)) ** 2;
  for (const [colour] of [...count].sort((p, q) => q[1] - p[1])) {
    if (palette.length < 64 && palette.every((p) => distance(p, colour) > 300 || (count.get(colour) > 2000 && distance(p, colour) > 0))) palette.push(colour);
  }
  const nearest = new Map();
  for (const colour of count.keys()) {
    nearest.set(colour, palette.reduce((best, p, i) => (distance(p, colour) < distance(palette[best], colour) ? i : best), 0));
  }
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const i = (y * width + x) * bytes;
      rows[y * (width + 1) + 1 + x] = nearest.get((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
    }
  }
  const head = Buffer.from(header);
  head[9] = 3;
  const colours = Buffer.from(palette.flatMap((p) => [p >> 16, (p >> 8) & 255, p & 255]));
  fs.writeFileSync(file, Buffer.concat([png.subarray(0, 8), chunk('IHDR', head), chunk('PLTE', colours), chunk('IDAT', zlib.deflateSync(rows, { level: 9, memLevel: 9 })), chunk('IEND', Buffer.alloc(0))]));
}

module.exports = { smaller };
