// The code of the fmt library that its headers only declare, compiled once for all of Estoc.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template void vformat_to(buffer<char>&, basic_string_view<char>, basic_format_args<format_context>,
                         locale_ref);
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;

}  // namespace detail
FMT_END_NAMESPACE
