// The structures of XLA's foreign function interface, 0.1 to 0.5, as their layout is laid down by
// its C API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace estoc::python::xla {

/// What may follow a structure; the only kind so far asks a handler for its metadata.
struct Extension {
  std::size_t size;
  std::int32_t type;  ///< kMetadata
  Extension* next;
};
inline constexpr std::int32_t kMetadata = 1;

struct Error;
struct Context;

struct ApiVersion {
  std::size_t size;
  Extension* extension;
  int major;
  int minor;
};

struct Metadata {
  std::size_t size;
  ApiVersion version;
  std::uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

enum class ErrorCode : std::int32_t { invalid_argument = 3, unimplemented = 12, internal = 13 };

struct ErrorCreate {
  std::size_t size;
  Extension* extension;
  const char* message;
  ErrorCode code;
};

struct StreamGet {
  std::size_t size;
  Extension* extension;
  Context* context;
  void* stream;
};

struct DeviceOrdinalGet {
  std::size_t size;
  Extension* extension;
  Context* context;
  std::int32_t ordinal;
};

/// The functions of the runtime; those in between are not used here.
struct Api {
  std::size_t size;
  Extension* extension;
  ApiVersion version;
  const void* internal;
  Error* (*create_error)(ErrorCreate*);
  void (*unused_errors[3])();
  Error* (*get_stream)(StreamGet*);
  void (*unused[12])();
  Error* (*get_device_ordinal)(DeviceOrdinalGet*);
};

struct Buffer {
  std::size_t size;
  Extension* extension;
  std::int32_t type;  ///< of ESTOC_DTYPE_NAMES
  void* data;
  std::int64_t rank;
  std::int64_t* extents;
};

struct Text {
  const char* data;
  std::size_t size;

  std::string_view view() const { return {data, size}; }
};

/// Arguments or results: buffers, each with a kind.
struct Buffers {
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  std::int32_t* kinds;
  void** buffers;

  const Buffer& operator[](std::int64_t place) const {
    return *static_cast<const Buffer*>(buffers[place]);
  }
};

inline constexpr std::int32_t kTextAttribute = 4;

struct Attributes {
  std::size_t size;
  Extension* extension;
  std::int64_t count;
  std::int32_t* kinds;
  Text** names;
  void** values;

  /// The text of that name; empty where there is none.
  std::string_view text(std::string_view name) const {
    for (std::int64_t place = 0; place < count; ++place) {
      if (kinds[place] != kTextAttribute || names[place]->view() != name) continue;
      return static_cast<const Text*>(values[place])->view();
    }
    return {};
  }
};

/// What a handler is called with.
struct Call {
  std::size_t size;
  Extension* extension;
  const Api* api;
  Context* context;
  std::int32_t stage;
  Buffers arguments;
  Buffers results;
  Attributes attributes;
};

}  // namespace estoc::python::xla
