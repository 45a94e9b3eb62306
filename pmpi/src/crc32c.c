/* CRC-32C (Castagnoli), by instruction where the processor has one. */
#include "trace.h"

static uint32_t table[256];

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t n) {
  if (table[1] == 0) {
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
      table[i] = c;
    }
  }
  while (n-- > 0) crc = (crc >> 8) ^ table[(crc ^ *p++) & 0xff];
  return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t n) {
  uint64_t c = crc;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    c = _mm_crc32_u64(c, word);
  }
  crc = (uint32_t)c;
  for (; n > 0; p++, n--) crc = _mm_crc32_u8(crc, *p);
  return crc;
}
#endif

uint32_t cohort_crc32c(const uint8_t *data, size_t length) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(~0u, data, length);
#endif
  return ~by_table(~0u, data, length);
}
